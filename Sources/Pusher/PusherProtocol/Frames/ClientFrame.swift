import JSONBytes

package enum ClientFrame: Hashable, Sendable {
    case ping
    case pong
    /// - Parameters:
    ///   - auth: The signature of the application's server, on channels that need one.
    ///   - channelData: Data from the application's server, byte for byte: it is part of the signed text.
    case subscribe(ChannelName, auth: String?, channelData: String?)
    case unsubscribe(ChannelName)
    /// - Parameter userData: Data as the application's server signed it, byte for byte.
    case signIn(auth: String, userData: String)
    /// - Parameter data: JSON text.
    case clientEvent(name: String, ChannelName, data: String)

    /// The frame as JSON text.
    package var text: String {
        switch self {
        case .ping: #"{"event":"pusher:ping","data":{}}"#
        case .pong: #"{"event":"pusher:pong","data":{}}"#
        case .subscribe(let channel, let auth, let channelData):
            #"{"event":"pusher:subscribe","data":{"channel":\#(JSONString.quoted(channel.string))"#
                + (auth.map { #","auth":\#(JSONString.quoted($0))"# } ?? "")
                + (channelData.map { #","channel_data":\#(JSONString.quoted($0))"# } ?? "") + "}}"
        case .unsubscribe(let channel):
            #"{"event":"pusher:unsubscribe","data":{"channel":\#(JSONString.quoted(channel.string))}}"#
        case .signIn(let auth, let userData):
            #"{"event":"pusher:signin","data":{"auth":\#(JSONString.quoted(auth)),"user_data":\#(JSONString.quoted(userData))}}"#
        case .clientEvent(let name, let channel, let data):
            #"{"event":\#(JSONString.quoted(name)),"channel":\#(JSONString.quoted(channel.string)),"data":\#(data)}"#
        }
    }
}
