# The job under its guard, on a ledger in a file. No AWS is needed: ruby test_job.rb
# CRONCE names the program, if it is not the `cronce` in PATH.

require "open3"
require "tmpdir"

JOB = ["ruby", File.join(__dir__, "job.rb")]

def start(ledger, period)
  guard = [ENV.fetch("CRONCE", "cronce"), "exec", "--ledger", ledger, "--job", "{{job}}", "--period", period, "--"]
  inherited = ENV.keys.grep(/\ACRONCE_/).to_h { |name| [name, nil] }
  Open3.capture3(inherited, *guard, *JOB)
end

def check(fact, holds, log)
  abort "FAILED: #{fact}\n#{log}" unless holds
  puts fact
end

Dir.mktmpdir do |folder|
  ledger = "sqlite:///#{folder}/runs.db"
  out, log, ended = start(ledger, "2026-11-30")
  check("the first start did the work", ended.success? && out == "digest for 2026-11-30\n", log)
  out, log, ended = start(ledger, "2026-11-30")
  check("the second start was refused", ended.success? && out.empty? && log.include?("ALREADY_SUCCEEDED"), log)
  out, log, ended = start(ledger, "2026-12-01")
  check("the next period is another run", ended.success? && out == "digest for 2026-12-01\n", log)
end
