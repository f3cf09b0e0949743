<?php
function send_pending() {}
