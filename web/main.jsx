// The page h5web/?file=F&path=P of package serve: the viewer h5web for the routes of the same server.

import '@h5web/app/styles.css';
import './main.css';

import { App, H5GroveProvider } from '@h5web/app';
import { createRoot } from 'react-dom/client';

const query = new URLSearchParams(window.location.search);
const file = query.get('file');
const path = query.get('path') ?? '/';
const server = new URL('..', window.location.href).href.replace(/\/$/u, '');

function Page() {
  if (!file) {
    return (
      <header>
        <a href="../">Select a file</a>
      </header>
    );
  }
  const plain = `../view?${new URLSearchParams({ file, path })}`;
  return (
    <>
      <header>
        <a href="../">files</a> / <a href={plain}>{file} without JavaScript</a>
      </header>
      <main>
        <H5GroveProvider url={server} filepath={file}>
          <App initialPath={path} />
        </H5GroveProvider>
      </main>
    </>
  );
}

document.title = file ? `${file} – Hyperslab` : 'Hyperslab';
createRoot(document.querySelector('#root')).render(<Page />);
