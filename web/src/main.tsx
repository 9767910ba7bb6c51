import './styles/mantine.css';
import './styles/tokens.css';
import './styles/base.css';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Surroundings } from './features/shell/Surroundings';
import { showDensity } from './kit/density';
import { showTheme } from './kit/theme';
import { queries, router } from './router';

showTheme();
showDensity();
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Surroundings queries={queries}>
        <RouterProvider router={router} />
      </Surroundings>
    </StrictMode>,
  );
}
