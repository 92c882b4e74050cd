// SPDX-License-Identifier: Apache-2.0
//
// Not compiled on Linux. The voice-processing unit of Apple's systems: loudspeaker and microphone with echo cancellation, noise
// suppression and gain control in one (AVAudioInputNode.setVoiceProcessingEnabled), so that no `VoiceProcessor` is needed.

#if canImport(AVFAudio) && canImport(Darwin)
    import AVFAudio
    import CSampleRing
    import Media
    import Synchronization

    /// The system's loudspeaker and microphone with its voice processing.
    ///
    /// Sound goes through the same rings as on Linux: the engine's threads on one side, the thread that ticks on the other.
    final class AppleVoiceDevice: SoundDevice {
        private let engine: Mutex<AVAudioEngine?>
        /// `sample_ring` of each way, by its address.
        private let output: UInt
        private let input: UInt
        private let rate: Int
        private let failure: String

        init(rate: Int) {
            self.rate = rate
            output = UInt(bitPattern: calloc(1, MemoryLayout<sample_ring>.size))
            input = UInt(bitPattern: calloc(1, MemoryLayout<sample_ring>.size))
            let made = AVAudioEngine()
            var reason = ""
            do { try Self.start(made, rate: rate, output: output, input: input) } catch { reason = "\(error)" }
            failure = reason
            engine = Mutex(reason.isEmpty ? made : nil)
        }

        deinit {
            close()
            unsafe free(UnsafeMutableRawPointer(bitPattern: output))
            unsafe free(UnsafeMutableRawPointer(bitPattern: input))
        }

        private static func ring(_ address: UInt) -> UnsafeMutablePointer<sample_ring>? {
            unsafe UnsafeMutablePointer(bitPattern: address)
        }

        private static func start(_ engine: AVAudioEngine, rate: Int, output: UInt, input: UInt) throws {
            #if !os(macOS)
                let session = AVAudioSession.sharedInstance()
                try session.setCategory(.playAndRecord, mode: .voiceChat, options: [.allowBluetooth])
                try session.setActive(true)
            #endif
            try engine.inputNode.setVoiceProcessingEnabled(true)
            guard let format = AVAudioFormat(commonFormat: .pcmFormatInt16, sampleRate: Double(rate), channels: 1, interleaved: true)
            else { return }
            let piece = rate / 100
            let source = AVAudioSourceNode(format: format) { silence, _, count, buffers in
                let list = unsafe UnsafeMutableAudioBufferListPointer(buffers)
                guard let ring = unsafe ring(output), let data = unsafe list[0].mData else { return noErr }
                let samples = unsafe data.assumingMemoryBound(to: Int16.self)
                let got = unsafe sample_ring_take(ring, samples, Int(count), piece / 2, 6 * piece, rate)
                unsafe silence.pointee = ObjCBool(got == 0)
                return noErr
            }
            engine.attach(source)
            engine.connect(source, to: engine.mainMixerNode, format: format)
            let converter = AVAudioMixerNode()
            engine.attach(converter)
            engine.connect(engine.inputNode, to: converter, format: engine.inputNode.outputFormat(forBus: 0))
            converter.installTap(onBus: 0, bufferSize: AVAudioFrameCount(piece), format: format) { buffer, _ in
                guard let ring = unsafe ring(input), let samples = unsafe buffer.int16ChannelData else { return }
                unsafe sample_ring_put(ring, samples[0], Int(buffer.frameLength))
            }
            try engine.start()
        }

        func play(_ frame: Span<Int16>) {
            guard let ring = unsafe Self.ring(output) else { return }
            unsafe frame.withUnsafeBufferPointer { samples in
                if let base = samples.baseAddress { unsafe sample_ring_put(ring, base, samples.count) }
            }
        }

        func capture(_ frame: inout [Int16]) -> Bool {
            guard let ring = unsafe Self.ring(input) else { return false }
            let piece = rate / 100
            return unsafe frame.withUnsafeMutableBufferPointer { samples in
                guard let base = samples.baseAddress else { return false }
                return unsafe sample_ring_take(ring, base, samples.count, piece / 2, 6 * piece, rate) > 0
            }
        }

        var state: SoundDeviceState { failure.isEmpty ? .ready : .failed(reason: failure) }
        var figures: SoundDeviceFigures { SoundDeviceFigures() }
        func close() {
            engine.withLock { engine in
                engine?.stop()
                engine = nil
            }
        }
    }
#endif
