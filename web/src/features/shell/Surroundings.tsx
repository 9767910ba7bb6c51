/** What stands around every page: the look of controls, what is kept of answers, where toasts appear. */
import { type CSSVariablesResolver, createTheme, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isPassing } from '../../api/problems';
import { nonce } from '../../kit/nonce';
import { useTheme } from '../../kit/theme';

const look = createTheme({
  fontFamily: 'var(--sans)',
  fontFamilyMonospace: 'var(--mono)',
  fontSizes: { xs: '13px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  colors: {
    // the greys that controls are made of in the dark
    dark: [
      '#e6eaf2',
      '#c9cfdb',
      '#a5aebd',
      '#7d8796',
      '#333a46',
      '#2a303a',
      '#1d2128',
      '#14171c',
      '#101318',
      '#0b0d11',
    ],
  },
  defaultRadius: 4,
  primaryColor: 'blue',
  respectReducedMotion: true,
});

const ours: Record<string, string> = {
  '--mantine-color-body': 'var(--ground)',
  '--mantine-color-text': 'var(--text)',
  '--mantine-color-dimmed': 'var(--muted)',
  '--mantine-color-placeholder': 'var(--muted)',
  '--mantine-color-default': 'var(--raised)',
  '--mantine-color-default-hover': 'color-mix(in srgb, var(--raised) 90%, var(--text))',
  '--mantine-color-default-color': 'var(--text)',
  '--mantine-color-default-border': 'var(--line)',
  '--mantine-color-blue-filled': 'var(--filled)',
  '--mantine-color-blue-filled-hover': 'var(--filled)',
  '--mantine-color-blue-light-color': 'var(--running)',
  '--mantine-color-blue-outline': 'var(--running)',
  '--mantine-color-red-outline': 'var(--failed)',
  '--mantine-color-red-text': 'var(--failed)',
  '--mantine-color-error': 'var(--failed)',
  '--mantine-color-gray-light-color': 'var(--text)',
  '--mantine-color-gray-text': 'var(--text)',
  '--mantine-color-disabled': 'var(--ground)',
  '--mantine-color-disabled-color': 'color-mix(in srgb, var(--muted) 75%, var(--ground))',
  '--mantine-color-disabled-border': 'var(--line)',
};
const variables: CSSVariablesResolver = () => ({ variables: ours, light: ours, dark: ours });

const AGAIN_MS = 5_000;

/** What could not be asked is asked again: three times before it is said, and now and then as long as it is shown. */
export function makeQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        retry: (count, error) => count < 3 && isPassing(error),
        refetchInterval: ({ state }) => (isPassing(state.error) ? AGAIN_MS : false),
        refetchOnWindowFocus: false,
        networkMode: 'always', // a server on this machine is there without any network
      },
    },
  });
}

export function Surroundings({ queries, children }: { queries: QueryClient; children: ReactNode }) {
  const theme = useTheme();
  return (
    <MantineProvider
      theme={look}
      forceColorScheme={theme}
      getStyleNonce={nonce}
      cssVariablesResolver={variables}
    >
      <QueryClientProvider client={queries}>
        {children}
        <Notifications position="bottom-right" autoClose={5000} limit={4} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
