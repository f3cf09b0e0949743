from datetime import datetime

app = object()
started_at = datetime.now().isoformat()
