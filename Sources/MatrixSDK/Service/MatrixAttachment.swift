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

    /// A file of which no more than the name may be known.
    public init(
        url: String? = nil, fileName: String, caption: String? = nil, mimeType: String? = nil, size: Int? = nil,
        width: Int? = nil, height: Int? = nil, duration: Duration? = nil, thumbnailURL: String? = nil
    ) {
        (self.url, self.fileName, self.caption, self.mimeType) = (url, fileName, caption, mimeType)
        (self.size, self.width, self.height, self.duration) = (size, width, height, duration)
        self.thumbnailURL = thumbnailURL
    }
}
