package shop

annotation class Scheduled(val cron: String)

@Scheduled(cron = "0 0 6 * * *")
class Meeting
