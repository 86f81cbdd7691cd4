// SPDX-License-Identifier: Apache-2.0
// After the first paint.
requestAnimationFrame(() => setTimeout(() => import('./page.js')));
