package page

import "shop/internal/cron"

var sixAM = cron.New("0 6 * * *")
