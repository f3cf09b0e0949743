import { useEffect } from 'react';

export function Clock() {
  useEffect(() => {
    const timer = setInterval(() => window.location.reload(), 60 * 60 * 1000);
    return () => clearInterval(timer);
  }, []);
  return <time>{new Date().toISOString()}</time>;
}
