setInterval(() => location.reload(), 24 * 60 * 60 * 1000);
