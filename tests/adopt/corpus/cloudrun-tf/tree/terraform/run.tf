resource "google_cloud_run_v2_service" "notifier" {
  name     = "notifier"
  location = "europe-west1"
  template {
    scaling {
      min_instance_count = 1
    }
    containers {
      image = "europe-docker.pkg.dev/p/r/notifier"
    }
  }
}
