resource "google_cloud_run_v2_service" "api" {
  name = "api"
  template {
    scaling {
      min_instance_count = 2
      max_instance_count = 10
    }
    containers {
      image = "registry.example.com/api:1"
    }
  }
}

resource "google_cloud_scheduler_job" "digest" {
  name      = "digest"
  schedule  = "0 6 * * *"
  time_zone = "Europe/Berlin"
  http_target {
    uri = "${google_cloud_run_v2_service.api.uri}/digest"
  }
}
