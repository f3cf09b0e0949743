class Report
  def deliver; end
end
