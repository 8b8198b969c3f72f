import JSONBytes

/// A file attached to a message. Fields that the sender left out or sent in a wrong form are `nil`.
public struct MatrixAttachment: Sendable, Hashable {
    /// The file's `mxc:` URL on the homeserver; `nil` while it is being uploaded, or if it cannot be read.
    public var url: String?
    /// The name that the sender chose. Don't trust it as a path.
    public var fileName: String
    /// The sender's caption.
    public var caption: String?
    /// The type that the sender states, such as `image/png`. Not trustworthy.
    public var mimeType: String?
    /// The size in bytes that the sender states.
    public var size: Int?
    /// The width of an image or video in pixels.
    public var width: Int?
    /// The height of an image or video in pixels.
    public var height: Int?
    /// The duration of audio or video.
    public var duration: Duration?
    /// The thumbnail's `mxc:` URL.
    public var thumbnailURL: String?
    /// The loudness of a voice message, from 0 to 1024, in at most ``maximumWaveform`` steps of equal length. May be
    /// empty.
    public var waveform: [Int]

    /// The maximum number of steps in a ``waveform``. Longer ones are shortened.
    public static let maximumWaveform = 120

    /// Creates an attachment. Only the name is required.
    public init(
        url: String? = nil, fileName: String, caption: String? = nil, mimeType: String? = nil, size: Int? = nil,
        width: Int? = nil, height: Int? = nil, duration: Duration? = nil, thumbnailURL: String? = nil,
        waveform: [Int] = []
    ) {
        (self.url, self.fileName, self.caption, self.mimeType) = (url, fileName, caption, mimeType)
        (self.size, self.width, self.height, self.duration) = (size, width, height, duration)
        (self.thumbnailURL, self.waveform) = (thumbnailURL, waveform)
    }
}

extension MatrixAttachment {
    /// - Parameter body: The message's text. It is a caption if the file also has a name of its own.
    init(_ content: JSONView, body: String) {
        let info = content["info"]
        let audio = content["org.matrix.msc1767.audio"] ?? content["m.audio_details"]
        let name = content["filename"]?.string
        self.init(
            url: Self.url(content["url"] ?? content["file"]?["url"]), fileName: name ?? body,
            caption: name == nil || name == content["body"]?.string || body.isEmpty ? nil : body,
            mimeType: info?["mimetype"]?.string, size: Self.size(info?["size"]), width: Self.size(info?["w"]),
            height: Self.size(info?["h"]),
            duration: (Self.size(audio?["duration"]) ?? Self.size(info?["duration"])).map {
                .milliseconds(min($0, Int(Int32.max)))
            },
            thumbnailURL: Self.url(info?["thumbnail_url"] ?? info?["thumbnail_file"]?["url"]),
            waveform: Self.waveform(audio?["waveform"]))
    }

    private static func url(_ json: JSONView?) -> String? {
        json?.string.flatMap { MXContentURI($0) == nil ? nil : $0 }
    }

    private static func size(_ json: JSONView?) -> Int? { json?.wholePart.flatMap { $0 >= 0 ? $0 : nil } }

    /// When steps are merged, the loudest is used.
    private static func waveform(_ json: JSONView?) -> [Int] {
        let steps = (json?.array ?? []).map { min(max($0.wholePart ?? 0, 0), 1024) }
        guard steps.count > maximumWaveform else { return steps }
        return (0..<maximumWaveform).map { step in
            let part = steps[step * steps.count / maximumWaveform..<(step + 1) * steps.count / maximumWaveform]
            return part.max() ?? 0
        }
    }
}
