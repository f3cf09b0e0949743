<?php
function build_report() {}
