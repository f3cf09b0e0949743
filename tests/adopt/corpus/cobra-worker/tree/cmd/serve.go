package cmd

import (
	"net/http"

	"github.com/spf13/cobra"
)

var serveCmd = &cobra.Command{
	Use: "serve",
	RunE: func(cmd *cobra.Command, args []string) error {
		return http.ListenAndServe(":8080", nil)
	},
}

func init() { rootCmd.AddCommand(serveCmd) }
