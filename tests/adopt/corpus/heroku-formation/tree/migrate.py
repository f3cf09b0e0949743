print("migrated")
