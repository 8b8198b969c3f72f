/// `POST users/{id}/terminate_connections`.
extension HTTPAPI {
    func postTermination(of userID: String, _ request: APIRequest) throws(APIFailure) -> Answer {
        guard !userID.isEmpty else { throw APIFailure(400, "Invalid user id") }
        guard request.body.isEmpty || JSONObject(request.bodyText) != nil else {
            throw APIFailure(400, "The body is not a JSON object")
        }
        return Answer(response: .json("{}"), commands: [.terminateConnections(userID: userID)])
    }
}
