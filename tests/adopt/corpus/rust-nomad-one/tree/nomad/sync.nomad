job "sync" {
  datacenters = ["eu1"]
  group "sync" {
    count = 1
    task "sync" {
      driver = "docker"
      config {
        image = "acme/sync:4"
      }
    }
  }
}
