FROM node:22
WORKDIR /repo
COPY . .
CMD ["npm", "run", "start", "-w", "@mono/site"]
