import Foundation
import PusherProtocol
import TestSupport
import Testing

@testable import PusherHTTP

struct SignedRequestTests {
    struct Vectors: Decodable {
        struct Request: Decodable {
            let method, path, key, secret, auth_signature: String
            let params: [String: String]
            let body, body_md5, note: String?
            let auth_timestamp: Int
        }

        let http_signing: [Request]
    }

    @Test func theVectorsAgree() throws {
        let vectors = try JSONDecoder().decode(Vectors.self, from: try Fixtures.data("vectors.json")).http_signing
        #expect(vectors.count == 16)
        for vector in vectors where !(vector.body == nil && vector.body_md5 != nil) {  // only Python sends that one
            let request = SignedRequest(
                method: vector.method, path: vector.path, query: vector.params.map { ($0.key, $0.value) },
                body: Array((vector.body ?? "").utf8))
            let target = request.target(
                credentials: AppCredentials(key: vector.key, secret: vector.secret),
                timestamp: vector.auth_timestamp)
            #expect(target.hasSuffix("&auth_signature=\(vector.auth_signature)"), "\(vector.path) \(vector.note ?? "")")
            if let md5 = vector.body_md5 { #expect(target.contains("&body_md5=\(md5)&")) }
        }
    }

    @Test func pathAndQueryAreEscapedWhereTheyMustBe() {
        let request = SignedRequest(method: "GET", path: "/apps/3 ?/channels/a=b@c,d.e;f", query: [("info", "x,y z")])
        let target = request.target(credentials: AppCredentials(key: "k", secret: "s"), timestamp: 1)
        #expect(target.hasPrefix("/apps/3%20%3F/channels/a=b@c,d.e;f?info=x%2Cy%20z&"))
    }
}
