# Formula of kibus for a tap. Each release fills in version and sums (.ci/release-files).
class Kibus < Formula
  desc "Event bus that routes EC2 interruptions to the right Karpenter"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/kibus-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256:aarch64-apple-darwin@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/kibus-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256:x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/kibus-@VERSION@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256:aarch64-unknown-linux-gnu@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/kibus-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256:x86_64-unknown-linux-gnu@"
    end
  end

  def install
    bin.install "kibus"
    generate_completions_from_executable(bin/"kibus", "completions")
  end

  test do
    assert_equal "kibus #{version}\n", shell_output("#{bin}/kibus --version")
  end
end
