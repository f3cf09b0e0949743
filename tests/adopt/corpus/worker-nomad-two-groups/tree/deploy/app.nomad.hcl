job "app" {
  group "web" {
    count = 3
    task "web" {
      driver = "docker"
      config { image = "acme/app:1" }
    }
  }
  group "scheduler" {
    task "scheduler" {
      driver = "docker"
      config {
        image   = "acme/app:1"
        command = "npm"
        args    = ["run", "scheduler"]
      }
    }
  }
}
