module Numbers
  def self.even(list)
    list.every { |n| n.even? }
  end
end
