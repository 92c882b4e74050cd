// SPDX-License-Identifier: Apache-2.0

import Handset
import PhoneCore

extension HandsetCommand {
    /// Places a call; ends when the other side or the duration does.
    static func runCall(_ context: CommandContext) async throws -> ExitStatus {
        let call = try CallSettings(context.invocation)
        let media = try MediaSettings(context.invocation)
        try media.checkFiles(numbers: false)
        let session = PhoneSession(context, media: media, incoming: .refuse(status: 486), call: call)
        try await session.open(try AccountSettings.all(context.invocation), maximumCalls: 8)
        do {
            try await session.dialFirst(call.target)
        } catch let error as PhoneError {
            await session.phone?.stop()
            throw CommandFailure.failed(error.reason)
        }
        return try status(await session.run())
    }
}
