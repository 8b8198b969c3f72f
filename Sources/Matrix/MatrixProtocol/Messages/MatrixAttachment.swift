import JSONBytes

/// A file that a message carries. What the sender did not say, or not in the right form, is nil.
public struct MatrixAttachment: Sendable, Hashable {
    /// Where the homeserver keeps it: an `mxc:` URL. Nil while it is being uploaded, or if it cannot be read.
    public var url: String?
    /// As the sender calls it: not to be trusted as a path.
    public var fileName: String
    /// What the sender says with it.
    public var caption: String?
    /// As the sender says, such as `image/png`: not to be trusted.
    public var mimeType: String?
    /// Bytes, as the sender says.
    public var size: Int?
    /// Of images and videos, in pixels.
    public var width: Int?
    /// Of images and videos, in pixels.
    public var height: Int?
    /// Of audio and video.
    public var duration: Duration?
    /// An `mxc:` URL.
    public var thumbnailURL: String?
    /// Of voice messages: how loud they are, in at most ``maximumWaveform`` steps of the same length, from 0 to 1024.
    /// May be empty.
    public var waveform: [Int]

    /// The most steps of a ``waveform``; longer ones are made shorter.
    public static let maximumWaveform = 120

    /// A file of which no more than the name may be known.
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
    /// - Parameter body: The message's text: a caption if the file has another name beside it.
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

    /// Of steps that become one, the loudest counts.
    private static func waveform(_ json: JSONView?) -> [Int] {
        let steps = (json?.array ?? []).map { min(max($0.wholePart ?? 0, 0), 1024) }
        guard steps.count > maximumWaveform else { return steps }
        return (0..<maximumWaveform).map { step in
            let part = steps[step * steps.count / maximumWaveform..<(step + 1) * steps.count / maximumWaveform]
            return part.max() ?? 0
        }
    }
}
