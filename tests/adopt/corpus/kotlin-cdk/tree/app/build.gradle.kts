dependencies { implementation(project(":jobs")) }
