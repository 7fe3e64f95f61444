/** Which page an address means. Pages are loaded when they are first opened. */
import { lazy, Suspense } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { useSession } from './api/session.tsx';
import { SignIn, SignInAgain } from './pages/sign-in.tsx';
import { isAt, PLACES } from './shell/navigation.ts';
import { NotForYou } from './shell/not-for-you.tsx';
import { Shell } from './shell/shell.tsx';
import { Empty, Page } from './ui/page.tsx';
import { Toasts } from './ui/toast.tsx';

const OverviewPage = lazy(() =>
  import('./pages/overview/overview.tsx').then((module) => ({ default: module.OverviewPage })),
);
const RequestsPage = lazy(() =>
  import('./pages/requests/list.tsx').then((module) => ({ default: module.RequestsPage })),
);
const RequestPage = lazy(() =>
  import('./pages/requests/request.tsx').then((module) => ({ default: module.RequestPage })),
);
const AccountsPage = lazy(() =>
  import('./pages/accounts/accounts.tsx').then((module) => ({ default: module.AccountsPage })),
);
const AccountPage = lazy(() =>
  import('./pages/accounts/account.tsx').then((module) => ({ default: module.AccountPage })),
);
const SettingsPage = lazy(() =>
  import('./pages/settings/settings.tsx').then((module) => ({ default: module.SettingsPage })),
);
const ModelsPage = lazy(() => import('./pages/models/models.tsx').then((module) => ({ default: module.ModelsPage })));
const ModelPage = lazy(() => import('./pages/models/model.tsx').then((module) => ({ default: module.ModelPage })));
const AlertsPage = lazy(() => import('./pages/alerts/alerts.tsx').then((module) => ({ default: module.AlertsPage })));
const PlaygroundPage = lazy(() =>
  import('./pages/playground/playground.tsx').then((module) => ({ default: module.PlaygroundPage })),
);
const KeysPage = lazy(() => import('./pages/keys/list.tsx').then((module) => ({ default: module.KeysPage })));
const KeyPage = lazy(() => import('./pages/keys/key.tsx').then((module) => ({ default: module.KeyPage })));

export function App() {
  const { state, may } = useSession();
  const [location] = useLocation();
  const place = PLACES.find((one) => isAt(one, location));
  if (state === 'unknown') return null;
  if (state === 'signed-out') return <SignIn />;
  return (
    <>
      <Shell>
        <Suspense fallback={null}>
          <Switch>
            {place !== undefined && !may(place.needs) && (
              <Route>
                <NotForYou place={place} />
              </Route>
            )}
            <Route path="/" component={OverviewPage} />
            <Route path="/requests" component={RequestsPage} />
            <Route path="/requests/:id">{({ id }) => <RequestPage id={id} />}</Route>
            <Route path="/accounts" component={AccountsPage} />
            <Route path="/accounts/:id">{({ id }) => <AccountPage id={id} />}</Route>
            <Route path="/models" component={ModelsPage} />
            <Route path="/models/*">{({ '*': id }) => <ModelPage id={decodeURIComponent(id ?? '')} />}</Route>
            <Route path="/alerts" component={AlertsPage} />
            <Route path="/playground" component={PlaygroundPage} />
            <Route path="/settings" component={SettingsPage} />
            <Route path="/keys" component={KeysPage} />
            <Route path="/keys/:id">{({ id }) => <KeyPage id={id} />}</Route>
            <Route>
              <Page title="Page not found">
                <Empty title="There is no page at this address" action={<Link href="/">Go to the overview</Link>}>
                  It may have been cut off when it was copied.
                </Empty>
              </Page>
            </Route>
          </Switch>
        </Suspense>
      </Shell>
      {state === 'expired' && <SignInAgain />}
      <Toasts />
    </>
  );
}
