<?php
namespace App\Message;
final class SendDigest {}
