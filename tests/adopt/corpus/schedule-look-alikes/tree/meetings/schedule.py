class Schedule:
    """A timetable of rooms."""

    def every(self, weekday):
        return [m for m in self.meetings if m.weekday == weekday]


schedule = Schedule()
schedule.every("monday")
