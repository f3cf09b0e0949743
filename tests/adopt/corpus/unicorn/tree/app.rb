class App
  def self.call(env) = [200, {}, ["ok"]]
end
