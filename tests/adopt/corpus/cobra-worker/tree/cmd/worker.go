package cmd

import (
	"github.com/acme/pay/internal/cron"
	"github.com/spf13/cobra"
)

var workerCmd = &cobra.Command{
	Use:   "worker",
	Short: "runs background jobs",
	Run: func(cmd *cobra.Command, args []string) {
		cron.Run(cmd.Context())
	},
}

func init() { rootCmd.AddCommand(workerCmd) }
