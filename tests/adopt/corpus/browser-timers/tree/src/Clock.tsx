import { useEffect, useState } from 'react';

export function Clock() {
  const [now, setNow] = useState(new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 3600 * 1000);
    return () => clearInterval(timer);
  }, []);
  return <time>{now.toLocaleDateString()}</time>;
}
