plugins { id("org.springframework.boot") version "3.2.0" }
