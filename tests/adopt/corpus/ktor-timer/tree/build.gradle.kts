plugins { application }
application { mainClass.set("ApplicationKt") }
