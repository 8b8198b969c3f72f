import PusherHTTP

let api = PusherHTTPClient(appID: "3", key: "app-key", secret: "app-secret", cluster: "eu")
try await api.trigger(event: "price", channels: ["prices"], json: ["value": 1])
