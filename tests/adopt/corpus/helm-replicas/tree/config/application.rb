require "rails"
