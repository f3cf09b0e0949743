FROM node:22 AS build
WORKDIR /repo
COPY . .
RUN npx turbo run build --filter=@mono/worker
FROM node:22-slim
WORKDIR /repo
COPY --from=build /repo ./
CMD ["npm", "run", "start", "--workspace=@mono/worker"]
