import NIOCore
import NIOHTTP1

/// The body of a request as it arrives. At most one of the three stores it, none if the server does not accept it.
struct RequestBody {
    private var memory: ByteBuffer?
    private var multipart: MultipartReader?
    /// The body of a `PUT`.
    private var file: StoredFile?

    private static let memoryLimit = 64 << 20

    init(_ head: HTTPRequestHead) {
        if head.method == .PUT {
            file = try? StoredFile()
        } else if let reader = MultipartReader(contentType: head.headers.first(name: "Content-Type") ?? "") {
            multipart = reader
        } else {
            memory = ByteBuffer()
        }
    }

    mutating func append(_ bytes: ByteBuffer) {
        do {
            try multipart?.read(bytes)
            if let file { try bytes.withUnsafeReadableBytes { try file.append($0) } }
            memory?.writeImmutableBuffer(bytes)
            if memory?.readableBytes ?? 0 > Self.memoryLimit { memory = nil }
        } catch {
            (memory, multipart, file) = (nil, nil, nil)
        }
    }

    /// Returns `nil` if the body was not accepted.
    func request(_ head: HTTPRequestHead, size: Int, address: String) -> FakePydioRequest? {
        var form = FormParameters()
        var upload: UploadedFile?
        if let memory {
            let type = head.headers.first(name: "Content-Type") ?? ""
            if type.hasPrefix("application/x-www-form-urlencoded") { form = FormParameters(String(buffer: memory)) }
        } else if let multipart, (try? multipart.finish()) != nil {
            (form, upload) = (multipart.form, multipart.upload)
        } else if let file {
            let name = head.headers.first(name: "X-File-Name") ?? ""
            upload = UploadedFile(name: name.urlDecoded, part: "", size: file.size, file: file)
        } else {
            return nil
        }
        let target = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var cookies: [String: String] = [:]
        for cookie in head.headers["Cookie"].flatMap({ $0.split(separator: ";") }) {
            let pair = cookie.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2 { cookies[String(pair[0]).trimmingSpace] = String(pair[1]).trimmingSpace }
        }
        return FakePydioRequest(
            method: head.method.rawValue, rawPath: String(target[0]),
            query: FormParameters(target.count > 1 ? target[1] : ""), form: form,
            fields: head.headers.map { ($0.name, $0.value) }, cookies: cookies, upload: upload, bodySize: size,
            address: address)
    }
}
