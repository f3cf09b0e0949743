"""The commands for people, one module per command, on click; `cronce.cli.app` lists and loads them."""
