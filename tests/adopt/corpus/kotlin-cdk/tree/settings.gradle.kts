rootProject.name = "acme"
include("app", "jobs")
