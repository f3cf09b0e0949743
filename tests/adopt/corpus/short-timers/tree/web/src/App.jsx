import { useEffect } from 'react';
export function App() {
  useEffect(() => {
    const id = setInterval(() => location.reload(), 6 * 60 * 60 * 1000);
    return () => clearInterval(id);
  }, []);
  return <div />;
}
