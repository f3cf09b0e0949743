"""`cronce demo`: the story of the daily digest, played by real processes on this host.

- `command`: the click command
- `digest`: the job, as an application would have it
- `container`: a container of the web app, with its own clock
- `mailboxes`: delivers and counts mails in a Maildir
- `story`: the four scenes
- `checks`: the expected numbers
- `processes`: starts processes, and always ends them
- `logs`: reads their logs
- `narrator`: prints the story
- `stage`: the folder, the signals and the exit code
"""
