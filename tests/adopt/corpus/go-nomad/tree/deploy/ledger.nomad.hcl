job "ledger" {
  datacenters = ["dc1"]
  type        = "service"

  group "server" {
    count = 3

    network {
      port "http" { to = 8080 }
    }

    task "server" {
      driver = "docker"
      config {
        image = "registry.acme.dev/ledger:1.4.0"
        ports = ["http"]
      }
    }
  }
}
