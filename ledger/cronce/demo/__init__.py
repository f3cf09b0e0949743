"""`cronce demo`: the story of the daily digest, played by real processes on this machine.

- `digest`: the job, as one would write it oneself
- `container`: a container of the web app, with a clock of its own
- `mailboxes`: mails in a Maildir: how one is delivered, and what is counted
- `story`: the four scenes
- `checks`: which numbers must come out
- `processes`: starts processes, and ends them in every case
- `logs`: what their own logs say
- `narrator`: what the audience sees
- `stage`: the command: folder, signals, exit code
"""
