param image string

resource app 'Microsoft.App/containerApps@2023-05-01' = {
  name: 'retention'
  location: resourceGroup().location
  properties: {
    template: {
      containers: [
        {
          name: 'retention'
          image: image
        }
      ]
      scale: {
        minReplicas: 2
        maxReplicas: 3
      }
    }
  }
}
