require "rails/all"
